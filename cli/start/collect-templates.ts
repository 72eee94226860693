import * as concern from "../../functions/collect-templates/index.ts";
import { serve } from "./serve.ts";

export const start = () => serve("collect-templates", concern);
