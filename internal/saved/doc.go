// Package saved reads a machine from files that are not on it: a folder or an archive with its /proc and /sys, and the
// text that commands printed there. Texts become files below the same paths, so that the collectors of facts read them.
// Nothing can be run, and nothing is written.
package saved
