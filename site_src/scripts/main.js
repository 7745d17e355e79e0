// Starts what the page has. Without this file everything can still be read.
import { startUnits } from "./units.js";
import { startTips } from "./tips.js";
import { startGallery } from "./gallery.js";
import { startCosts } from "./costs.js";
import { startKernels } from "./kernels.js";
import { startCharts } from "./charts.js";
import { startCopy } from "./copy.js";
import { startReach } from "./reach.js";
import { startFit } from "./fit.js";

startGallery(document.getElementById("gallery"));
startCosts(document.getElementById("costs"));
startKernels(document.querySelectorAll(".kernels"));
startCharts(document.querySelectorAll(".chart"));
startUnits();
startTips();
startCopy();
startReach();
startFit();

// Material leaves its search dialog without a name.
document.querySelector(".md-search")?.setAttribute("aria-label", "Search");
performance.mark("rooflight-ready");
