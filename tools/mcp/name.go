package mcp

import (
	"crypto/sha256"
	"encoding/hex"
	"regexp"
	"slices"
	"strings"
)

// longest is how many letters providers take in the name of a function.
const longest = 64

var notInName = regexp.MustCompile(`[^A-Za-z0-9_-]`)

// named gives every tool the name server_tool. Where two would have the same,
// or one would have that of another tool, all of them get a mark of where they
// come from. So a name never depends on who came first, and no server can take
// the place of another's tool.
func named(list []offer, taken []string) {
	count := map[string]int{}
	for _, name := range taken {
		count[name]++
	}
	for i := range list {
		list[i].as = notInName.ReplaceAllString(list[i].s.Name+"_"+list[i].d.Name, "_")
		count[list[i].as]++
	}
	for i, o := range list {
		if len(o.as) > longest || count[o.as] > 1 {
			list[i].as = marked(o.as, o.s.Name, o.d.Name)
		}
	}
	slices.SortFunc(list, func(a, b offer) int { return strings.Compare(a.as, b.as) })
}

func marked(name, server, tool string) string {
	sum := sha256.Sum256([]byte(server + "\x00" + tool))
	mark := "_" + hex.EncodeToString(sum[:4])
	return name[:min(len(name), longest-len(mark))] + mark
}
