module github.com/headroom/headroom/tools/release

go 1.26.0
