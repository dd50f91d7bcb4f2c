// Package skill is a team's skills: texts that the model reads when it needs them. Each
// is pinned by its digest to the file that somebody accepted. Another file is off: it
// reaches no model, and the log says so.
package skill

import (
	"cmp"
	"context"
	_ "embed"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"

	"nod/llm"
	"nod/tools"
)

//go:embed skill.md
var prose string

// Name is the name of the tool.
const Name = "skill"

const parameters = `{"type":"object","properties":{"name":{"type":"string"}},"required":["name"],"additionalProperties":false}`

// Lock holds the digests of the accepted files, by the names of their skills.
type Lock struct {
	About  string            `json:"about"`
	Skills map[string]string `json:"skills"`
}

// Accept is the lock that accepts skills as they are.
func Accept(list []Skill) Lock {
	l := Lock{About: "The skills as somebody accepted them, written by `bot check --accept-skills`. One that is not as it is here is off. Keep this file with the configuration.", Skills: map[string]string{}}
	for _, s := range list {
		l.Skills[s.Name] = s.Digest
	}
	return l
}

// Shelf holds the skills of a folder, as they were at the start. It is safe for concurrent
// use.
type Shelf struct {
	list []Skill
	dir  string
	lock Lock
	off  map[string]string // why a skill is off until the next start
	log  *slog.Logger

	mu   sync.Mutex
	said map[string]string // what the log was told last
}

// NewShelf makes a shelf of skills that were read from a folder.
func NewShelf(dir string, list []Skill, lock Lock, log *slog.Logger) *Shelf {
	s := &Shelf{list: list, dir: dir, lock: lock, off: map[string]string{}, log: log, said: map[string]string{}}
	for _, k := range list {
		if s.Off(k.Name) != "" {
			s.off[k.Name] = "it is as accepted again, and on from the next start"
		}
	}
	return s
}

// All lists the skills; a nil shelf has none.
func (s *Shelf) All() []Skill {
	if s == nil {
		return nil
	}
	return s.list
}

// Off reads a skill's file again, and says why the skill is off; "" when it is on.
func (s *Shelf) Off(name string) string {
	_, why := s.text(name)
	return why
}

// text is the accepted text of a skill, or why there is none.
func (s *Shelf) text(name string) (text, why string) {
	i := slices.IndexFunc(s.list, func(k Skill) bool { return k.Name == name })
	if i < 0 {
		return "", "there is no such skill"
	}
	text, why = s.list[i].Text, cmp.Or(s.changed(s.list[i]), s.off[name])
	s.mu.Lock()
	defer s.mu.Unlock()
	if why != s.said[name] {
		if why != "" {
			s.log.Warn("a skill is off", "skill", name, "why", why)
		}
		s.said[name] = why
	}
	return text, why
}

// changed says in what a skill's file differs from the accepted one.
func (s *Shelf) changed(k Skill) string {
	accepted, ok := s.lock.Skills[k.Name]
	if !ok {
		return "nobody has accepted it"
	}
	root, err := os.OpenRoot(s.dir)
	if err != nil {
		return "its file can't be read"
	}
	defer func() { _ = root.Close() }()
	raw, err := k.content(root)
	switch {
	case err != nil:
		return "its file can't be read"
	case digest(raw) != accepted:
		return "its file is not the one that was accepted"
	}
	return ""
}

// Tool is the tool by which the model reads a skill. The operator wrote the text, so it is
// given whole and taints nothing.
func (s *Shelf) Tool() tools.Tool {
	t := tools.New(Name, prose, parameters, s.run)
	t.ReadOnly, t.Whole, t.Risk = true, true, tools.Auto
	return t
}

func (s *Shelf) run(_ context.Context, _ tools.Input, arg struct{ Name string }) (llm.Result, error) {
	text, why := s.text(strings.TrimSpace(arg.Name))
	if why != "" {
		return tools.Failed("the skill %q is off: %s", arg.Name, why), nil
	}
	return llm.Result{Text: fmt.Sprintf("[The skill %s. The people who run you wrote it: follow it.]\n%s", arg.Name, text)}, nil
}
