// Package browsertest opens pages of a server in a real browser. For tests only.
package browsertest
