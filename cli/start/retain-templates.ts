import * as concern from "../../functions/retain-templates/index.ts";
import { serve } from "./serve.ts";

export const start = () => serve("retain-templates", concern);
