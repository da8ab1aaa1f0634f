module github.com/headroom/headroom/tools/shape

go 1.26.0
