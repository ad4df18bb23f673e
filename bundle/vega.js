import * as vega from "vega";
import * as vegaLite from "vega-lite";
import { expressionInterpreter } from "vega-interpreter";
globalThis.vega = {
  View: vega.View,
  parse: vega.parse,
  expressionInterpreter,
  version: vega.version,
};
globalThis.vegaLite = { compile: vegaLite.compile, version: vegaLite.version };
