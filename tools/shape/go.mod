module headroom/tools/shape

go 1.26.0
