// Package serve shows the runs of a store in a browser, and to programs over HTTP. It only reads: nothing can be
// started, changed or deleted through it. Pages are made here from the same documents as those of headroom report, and
// nothing is fetched from elsewhere.
package serve
