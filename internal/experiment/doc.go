// Package experiment is one measurement, from its plan to the saved run: its place and what may be written there, how
// long it takes, what is printed before it and during it, events, and the settings that it changes. The packages below
// are the kinds of experiments that are made of measurements.
package experiment
