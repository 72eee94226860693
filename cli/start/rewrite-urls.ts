import * as concern from "../../functions/rewrite-urls/index.ts";
import { serve } from "./serve.ts";

export const start = () => serve("rewrite-urls", concern);
