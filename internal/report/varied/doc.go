// Package varied makes documents of what comes of changed settings: sweeps, ablations, and searches for culprits.
package varied
