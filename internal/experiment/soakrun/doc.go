// Package soakrun is the design of headroom soak: one load that goes on for hours.
package soakrun
