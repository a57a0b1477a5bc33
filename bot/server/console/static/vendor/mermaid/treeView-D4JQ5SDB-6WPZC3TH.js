import{a as e,b as r}from"./chunk-XQKNBZQW.js";import"./chunk-FPTW5BR6.js";import"./chunk-SQE76S5B.js";export{e as TreeViewModule,r as createTreeViewServices};
