module github.com/headroom/headroom/tools/docs

go 1.26.0

require (
	github.com/jdkato/prose/v3 v3.2.3
	github.com/yuin/goldmark v1.8.7
)

require gopkg.in/neurosnap/sentences.v1 v1.0.6 // indirect
