// Package profilerun is the design of headroom profile: loads that are measured to have them profiled.
package profilerun
