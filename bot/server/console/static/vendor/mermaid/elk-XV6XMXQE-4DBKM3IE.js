import"./chunk-SQE76S5B.js";var a=class{};export{a as default};
