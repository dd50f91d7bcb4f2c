package config

import (
	"fmt"
	"regexp"

	"go.yaml.in/yaml/v4"
)

// pair is a key of a mapping with its value.
type pair struct {
	key   string
	line  int
	value *yaml.Node
}

// pairs lists a mapping, with the pairs of a << key. It reports keys that are no text
// or are there twice.
func (d *decoder) pairs(n *yaml.Node, path string) []pair {
	if n.Kind != yaml.MappingNode {
		d.add(n.Line, path, "must be a section: write its keys, indented, on the lines below")
		return nil
	}
	var own, merged []pair
	seen := map[string]int{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		k, value := n.Content[i], n.Content[i+1]
		switch first, again := seen[k.Value]; {
		case k.Kind == yaml.ScalarNode && k.ShortTag() == "!!merge":
			merged = append(merged, d.merge(value, path)...)
		case k.Kind != yaml.ScalarNode:
			d.add(k.Line, path, "has a key that is not a word")
		case again:
			d.add(k.Line, join(path, shown(k.Value)), "is there twice, in line %d already; remove one of them", first)
		default:
			seen[k.Value] = k.Line
			own = append(own, pair{k.Value, k.Line, value})
		}
	}
	for _, p := range merged {
		if _, ok := seen[p.key]; !ok {
			seen[p.key] = p.line
			own = append(own, p)
		}
	}
	return own
}

// merge lists the pairs of a << key.
func (d *decoder) merge(n *yaml.Node, path string) []pair {
	n, leave := d.enter(n, path)
	if n == nil {
		return nil
	}
	defer leave()
	if n.Kind != yaml.SequenceNode {
		return d.pairs(n, path)
	}
	var out []pair
	for _, c := range n.Content {
		out = append(out, d.merge(c, path)...)
	}
	return out
}

var keyWord = regexp.MustCompile(`^[A-Za-z_*][A-Za-z_*-]{0,39}$`)

// shown is a key for a message: a word, or else a placeholder. In a line without its
// colon, a value is read as a key.
func shown(key string) string {
	if keyWord.MatchString(key) {
		return key
	}
	return "(key)"
}

// unknownKey says that a key is not known, and which one may be meant.
func unknownKey(key string, known []string) string {
	if n := nearest(key, known); n != "" {
		return "unknown key; did you mean " + n + "?"
	}
	return "unknown key; write " + choices(known) + ", or remove it"
}

// item is the path of one item of a list.
func item(path string, i int) string { return fmt.Sprintf("%s[%d]", path, i) }
