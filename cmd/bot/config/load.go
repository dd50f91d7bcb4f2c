package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v4"
)

// maxFile is the size up to which a file is read: far more than any team
// writes, and little enough to hold in memory many times over.
const maxFile = 1 << 20

// LoadOptions says how a file is read. The zero value is for running.
type LoadOptions struct {
	// Lenient makes names that are not set in the environment, and files that
	// can't be read, fine: such a value keeps its default, and nothing is demanded of it.
	Lenient bool
	// Needs are keys, as dotted paths, of which Lenient is not true: a default would
	// stand for something else than the file means.
	Needs []string
	// Getenv looks up the environment; nil is os.LookupEnv.
	Getenv func(string) (string, bool)
}

// Load reads a file, fills in the environment and the defaults, and checks
// everything that can be checked without connecting anywhere. The error is
// [Mistakes] when the file can be read but is wrong.
func Load(path string, o LoadOptions) (*Config, error) {
	data, err := readFile(path, maxFile)
	if err != nil {
		return nil, fmt.Errorf("read configuration: %w", err)
	}
	dir, err := filepath.Abs(filepath.Dir(path))
	if err != nil {
		return nil, fmt.Errorf("read configuration: %w", err)
	}
	return parse(path, dir, data, o)
}

func readFile(path string, most int) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	data, err := io.ReadAll(io.LimitReader(f, int64(most)+1))
	if err == nil && len(data) > most {
		err = fmt.Errorf("%s is larger than %d KiB", path, most>>10)
	}
	return data, err
}

// parse is Load for text that is already here.
func parse(file, dir string, data []byte, o LoadOptions) (*Config, error) {
	r := newReport(file)
	root := document(r, data)
	c := defaults()
	c.file, c.lines = file, r.lines
	if root != nil {
		env := &environment{
			getenv: o.Getenv, lenient: o.Lenient, needs: o.Needs, dir: dir,
			source: strings.Split(string(data), "\n"), found: map[*yaml.Node]expansion{},
		}
		if env.getenv == nil {
			env.getenv = os.LookupEnv
		}
		env.expand(root)
		c.files = env.files
		d := &decoder{report: r, env: env, section: &c.Approvals, first: &c.LLM, names: map[string][]string{}}
		d.value(root, reflect.ValueOf(c).Elem(), "")
		if !d.tooMuch {
			check(c, d)
		}
	}
	if len(r.mistakes) == 0 {
		c.resolve(dir)
		c.readRooms(r, o.Lenient)
		if !o.Lenient {
			c.readSkills(r)
		}
	}
	if len(r.mistakes) > 0 {
		return nil, sorted(r.mistakes)
	}
	return c, nil
}

// document gives the root of the one YAML document in data, or nil when there
// is none or it is not YAML.
func document(r *report, data []byte) *yaml.Node {
	loader, err := yaml.NewLoader(bytes.NewReader(data))
	if err != nil {
		r.add(1, "", "can't be read as YAML")
		return nil
	}
	var doc, second yaml.Node
	switch err := loader.Load(&doc); {
	case errors.Is(err, io.EOF):
		return nil
	case err != nil:
		syntax(r, data, err)
		return nil
	}
	switch err := loader.Load(&second); {
	case err == nil:
		r.add(second.Line, "", "a second document begins here; write one document, without a line of ---")
		return nil
	case !errors.Is(err, io.EOF):
		syntax(r, data, err)
		return nil
	}
	if len(doc.Content) != 1 {
		return nil
	}
	return doc.Content[0]
}

// syntax reports that the text is not YAML. The parser's own words are used
// only where they are known to quote nothing of the file.
func syntax(r *report, data []byte, err error) {
	var load *yaml.LoadError
	if !errors.As(err, &load) {
		r.add(1, "", "can't be read as YAML")
		return
	}
	line, text := load.Mark.Line, "not valid YAML: "
	switch load.Stage {
	case yaml.ScannerStage, yaml.ParserStage:
		begin := load.ContextMark.Line
		if begin > 0 {
			text += fmt.Sprintf("%s, %s in line %d", load.ContextMsg, load.Message, line)
		} else {
			begin, text = line, text+load.Message
		}
		switch lines := between(data, begin, line); {
		case bytes.Contains(lines, []byte("\t")):
			text += "; indent with spaces, not with tabs"
		case unquoted.Match(lines):
			text += "; inside { } and [ ], write \"${NAME}\" in quotes"
		}
		line = begin
	case yaml.ComposerStage:
		text += "a * names an anchor that is not defined; put text that begins with * in quotes"
	default:
		text += "the file must be UTF-8 text without control characters"
	}
	r.add(line, "", text)
}

// unquoted finds a ${NAME} that stands in a flow collection without quotes.
var unquoted = regexp.MustCompile(`[:,\[]\s*\$\{`)

// between gives the lines from begin to end of a text.
func between(data []byte, begin, end int) []byte {
	lines := bytes.Split(data, []byte("\n"))
	begin, end = max(begin, 1), min(end, len(lines))
	if begin > end {
		return nil
	}
	return bytes.Join(lines[begin-1:end], []byte("\n"))
}
