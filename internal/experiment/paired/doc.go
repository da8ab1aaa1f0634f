// Package paired measures by turns what is to be compared: two sides until the verdict, or the layers of a host's
// storage.
package paired
