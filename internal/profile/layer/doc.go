// Package layer groups functions into the layers that an I/O passes. The groups are data, in the folder layers.
package layer
