// Package experiment is one measurement, from its plan to the saved run: its place and what may be written there, how
// long it takes, what is printed before it and during it, and its events. A run on several targets has one of each. The
// packages below are the kinds of experiments that are made of measurements.
package experiment
