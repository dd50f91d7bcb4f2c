package skill

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"regexp"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"
)

// Skill is a folder with a file SKILL.md, of which nothing else is read. See
// https://agentskills.io/specification.
type Skill struct {
	Name, Description string
	Text              string // what stands behind the front matter
	Path, Digest      string // of the file, below the folder of all skills
}

const (
	file            = "SKILL.md"
	mostBytes       = 1 << 20
	mostDescription = 1024 // characters
)

var validName = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)

// Read reads the skills of a folder, in the order of its folders. Each mistake names its
// file and stands for one skill.
func Read(dir string) (list []Skill, mistakes []error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, []error{unread(".", err)}
	}
	defer func() { _ = root.Close() }()
	folders, err := fs.ReadDir(root.FS(), ".")
	if err != nil {
		return nil, []error{unread(".", err)}
	}
	named := map[string]string{}
	for _, f := range folders {
		if strings.HasPrefix(f.Name(), ".") || f.Type().IsRegular() {
			continue
		}
		s, err := read(root, f.Name())
		if err == nil && named[s.Name] != "" {
			err = fmt.Errorf("%s: has the name of %s; write another", s.Path, named[s.Name])
		}
		if err != nil {
			mistakes = append(mistakes, err)
			continue
		}
		named[s.Name] = s.Path
		list = append(list, s)
	}
	return list, mistakes
}

// read reads the skill of a folder.
func read(root *os.Root, folder string) (Skill, error) {
	s := Skill{Path: path.Join(folder, file)}
	raw, err := s.content(root)
	if err != nil {
		return s, err
	}
	s.Digest = digest(raw)
	head, text, ok := parts(raw)
	if !ok || yaml.Load(head, &struct {
		Name        *string `yaml:"name"`
		Description *string `yaml:"description"`
	}{&s.Name, &s.Description}) != nil {
		return s, fmt.Errorf("%s: has no front matter; begin it with a line of ---, then name and description, then a line of ---", s.Path)
	}
	s.Description, s.Text = strings.Join(strings.Fields(s.Description), " "), strings.TrimSpace(text)
	switch {
	case len(s.Name) > 64 || !validName.MatchString(s.Name):
		return s, fmt.Errorf("%s: its name must be up to 64 small letters, digits and single hyphens, such as incident", s.Path)
	case s.Description == "" || utf8.RuneCountInString(s.Description) > mostDescription:
		return s, fmt.Errorf("%s: its description must be 1 to %d characters long", s.Path, mostDescription)
	case s.Text == "":
		return s, fmt.Errorf("%s: has no text behind its front matter", s.Path)
	}
	return s, nil
}

// content reads the file of a skill. A link could lead to any text, and change without
// being changed.
func (s Skill) content(root *os.Root) ([]byte, error) {
	for _, name := range []string{path.Dir(s.Path), s.Path} {
		switch info, err := root.Lstat(name); {
		case err != nil:
			return nil, unread(s.Path, err)
		case info.Mode()&fs.ModeSymlink != 0:
			return nil, fmt.Errorf("%s: is a symbolic link; copy it there instead", name)
		case name == s.Path && !info.Mode().IsRegular():
			return nil, fmt.Errorf("%s: is no file", name)
		}
	}
	f, err := root.Open(s.Path)
	if err != nil {
		return nil, unread(s.Path, err)
	}
	defer func() { _ = f.Close() }()
	raw, err := io.ReadAll(io.LimitReader(f, mostBytes+1))
	switch {
	case err != nil:
		return nil, unread(s.Path, err)
	case len(raw) > mostBytes:
		return nil, fmt.Errorf("%s: is larger than 1 MiB", s.Path)
	case !utf8.Valid(raw):
		return nil, fmt.Errorf("%s: is no UTF-8 text", s.Path)
	}
	return raw, nil
}

// unread says that something can't be read, without the path of this machine.
func unread(name string, err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		err = p.Err
	}
	return fmt.Errorf("%s: can't be read: %w", name, err)
}

// parts takes a file apart into front matter and text.
func parts(raw []byte) (head []byte, text string, ok bool) {
	rest, ok := bytes.CutPrefix(bytes.ReplaceAll(raw, []byte("\r\n"), []byte("\n")), []byte("---\n"))
	head, body, closed := bytes.Cut(append([]byte("\n"), rest...), []byte("\n---\n"))
	return head, string(body), ok && closed
}

func digest(raw []byte) string {
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:])
}
