package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v4"

	"nod/setting"
)

// reference finds ${NAME} and ${file:PATH}, and every other ${, so that it can be refused instead of
// staying as text. $${ is an escaped ${.
var reference = regexp.MustCompile(`\$?\$\{([^}]*)(\}?)`)

var envName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// expansion is an expanded scalar.
type expansion struct {
	names     []string          // that it uses
	missing   map[string]string // of those, the ones without a value, and why
	malformed bool              // it has a ${ that names nothing
}

// environment replaces ${NAME} and ${file:PATH} in scalar values. It is our own, of a dozen
// lines, since the libraries for it know a shell's syntax ($NAME,
// ${NAME:-default}, $$) and would change values in which a bare $ has to stay,
// such as "$5" or the end of a pattern.
type environment struct {
	getenv  func(string) (string, bool)
	lenient bool
	needs   []string         // keys of which that is not true
	source  []string         // the lines of the file
	dir     string           // of the file
	files   []setting.Secret // the content of other files that it names
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
	x := expansion{missing: map[string]string{}}
	n.Value = reference.ReplaceAllStringFunc(n.Value, func(found string) string {
		if strings.HasPrefix(found, "$$") {
			return found[1:]
		}
		name := strings.TrimSuffix(found[2:], "}")
		path, isFile := strings.CutPrefix(name, "file:")
		if path == "" || !isFile && !envName.MatchString(name) || !strings.HasSuffix(found, "}") {
			x.malformed = true
			return ""
		}
		x.names = append(x.names, name)
		value, why := "", ""
		if isFile {
			value, why = e.content(absolute(e.dir, path))
		} else if v, ok := e.getenv(name); ok {
			value = v
		} else {
			why = "is not set in the environment; set it or remove the line"
		}
		if why != "" {
			x.missing[name] = why
		}
		return value
	})
	if len(x.names) > 0 || x.malformed {
		e.found[n] = x
	}
}

// maxSecret is the size up to which the file of a value is read.
const maxSecret = 64 << 10

// content is the content of a file without its last line end.
func (e *environment) content(path string) (value, problem string) {
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return "", "is not a file; write the path of one, which is relative to this file"
	}
	data, err := readFile(path, maxSecret+len("\r\n"))
	var failed *fs.PathError
	if errors.As(err, &failed) {
		return "", fmt.Sprintf("can't be read: %v; write the path of a file, which is relative to this one", failed.Err)
	}
	value = strings.TrimSuffix(strings.TrimSuffix(string(data), "\n"), "\r")
	switch {
	case err != nil || len(value) > maxSecret:
		return "", "is larger than 64 KiB; write the path of another file"
	case value == "":
		return "", "is empty; write the value into the file"
	}
	e.files = append(e.files, setting.NewSecret(value))
	return value, ""
}
