// This module stands in for the one of the same name, by a line in nod's go.mod. That
// one is twelve fonts, 4.4 MB, which the plotting library parses at the start of every
// program that imports it, for plots that name no font. Ours name theirs (font.go), so
// those twelve are one small font here, which the library can parse and nobody sees.
module codeberg.org/go-fonts/liberation

go 1.26.0

require golang.org/x/image v0.30.0
