// Package browsertest looks at pages of a server in a real browser. For tests only.
package browsertest
