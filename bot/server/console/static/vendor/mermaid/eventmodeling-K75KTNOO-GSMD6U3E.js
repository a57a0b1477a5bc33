import{a as e,b as o}from"./chunk-VEAQE7LJ.js";import"./chunk-FPTW5BR6.js";import"./chunk-SQE76S5B.js";export{e as EventModelingModule,o as createEventModelingServices};
