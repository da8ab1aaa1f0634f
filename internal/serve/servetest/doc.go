// Package servetest looks at pages of a server in a real browser. For tests only.
package servetest
