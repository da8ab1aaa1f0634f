// Package paired measures two sides in turns until there is a verdict: compare --live.
package paired
