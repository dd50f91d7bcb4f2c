package config

import (
	"regexp"
	"strings"

	"go.yaml.in/yaml/v4"
)

// reference finds ${NAME}, and every other ${, so that it can be refused instead of
// staying as text. $${ is an escaped ${.
var reference = regexp.MustCompile(`\$?\$\{([^}]*)(\}?)`)

var envName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// expansion is an expanded scalar.
type expansion struct {
	names     []string // that it uses
	missing   []string // of those, the ones that are not set
	malformed bool     // it has a ${ that names nothing
}

// environment replaces ${NAME} in scalar values. It is our own, of a dozen
// lines, since the libraries for it know a shell's syntax ($NAME,
// ${NAME:-default}, $$) and would change values in which a bare $ has to stay,
// such as "$5" or the end of a pattern.
type environment struct {
	getenv  func(string) (string, bool)
	lenient bool
	needs   []string // keys of which that is not true
	source  []string // the lines of the file
	found   map[*yaml.Node]expansion
}

// line finds where a value that begins at a line names the environment; a
// value can have many lines.
func (e *environment) line(begin int, name string) int {
	for i := begin; i <= len(e.source); i++ {
		if strings.Contains(e.source[i-1], "${"+name+"}") {
			return i
		}
	}
	return begin
}

// expand fills in the values below a node, and no keys. It leaves aliases alone: their
// anchors are expanded in place.
func (e *environment) expand(n *yaml.Node) {
	switch n.Kind {
	case yaml.ScalarNode:
		e.scalar(n)
	case yaml.MappingNode:
		for i := 1; i < len(n.Content); i += 2 {
			e.expand(n.Content[i])
		}
	case yaml.SequenceNode:
		for _, c := range n.Content {
			e.expand(c)
		}
	}
}

// scalar expands one value and notes that, so that ${PORT} can become a number.
func (e *environment) scalar(n *yaml.Node) {
	if !strings.Contains(n.Value, "${") {
		return
	}
	var x expansion
	n.Value = reference.ReplaceAllStringFunc(n.Value, func(found string) string {
		if strings.HasPrefix(found, "$$") {
			return found[1:]
		}
		name := strings.TrimSuffix(found[2:], "}")
		if !envName.MatchString(name) || !strings.HasSuffix(found, "}") {
			x.malformed = true
			return ""
		}
		value, ok := e.getenv(name)
		x.names = append(x.names, name)
		if !ok {
			x.missing = append(x.missing, name)
		}
		return value
	})
	if len(x.names) > 0 || x.malformed {
		e.found[n] = x
	}
}
