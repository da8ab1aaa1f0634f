// Package varied makes documents of the results of changed settings: sweeps, ablations, and searches for culprits.
package varied
