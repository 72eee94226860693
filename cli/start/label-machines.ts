import * as concern from "../../functions/label-machines/index.ts";
import { serve } from "./serve.ts";

export const start = () => serve("label-machines", concern);
