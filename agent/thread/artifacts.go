package thread

import (
	"fmt"
	"path"
	"strings"

	"nod/chat"
)

// Artifact is a file that a person attached or a tool made, beyond a few KB of text. The
// store keeps it once, the prompt names it by a stub, and a tool reads it. Its name is
// unique in the thread, and follows from the log alone.
type Artifact struct {
	chat.File
	seq     uint64
	From    string // who attached it, or the tool that made it
	Outside bool   // strangers wrote it, as a tool of theirs gave it back
	dropped bool   // taken from what the model sees
	With    *Message
}

// Gone says whether the model does not see the artifact.
func (a *Artifact) Gone() bool { return a.dropped || a.With != nil && a.With.Deleted }

// adopt gives files of the log names of their own, and keeps those with content.
func (s *Thread) adopt(files []chat.File, like Artifact) []chat.File {
	var out []chat.File
	for _, f := range files {
		f.Name = s.unique(f.Name)
		if f.Blob != "" {
			a := like
			a.File = f
			s.Artifacts = append(s.Artifacts, &a)
		}
		out = append(out, f)
	}
	return out
}

// unique makes a name that no artifact of the thread has: table.csv, then table-2.csv.
func (s *Thread) unique(name string) string {
	if name = strings.Join(strings.Fields(name), "_"); name == "" {
		name = "file"
	}
	ext := path.Ext(name)
	for n, try := 2, name; ; n++ {
		if s.Artifact(try) == nil {
			return try
		}
		try = fmt.Sprintf("%s-%d%s", strings.TrimSuffix(name, ext), n, ext)
	}
}

// Artifact finds an artifact by its name, also one that was dropped.
func (s *Thread) Artifact(name string) *Artifact {
	return first(s.Artifacts, func(a *Artifact) bool { return a.Name == name })
}

// IsDropped says whether a file is hidden from the model.
func (s *Thread) IsDropped(f chat.File) bool {
	a := s.Artifact(f.Name)
	return a != nil && a.Gone()
}

// Held lists the artifacts that the model can read, the oldest first.
func (s *Thread) Held() []chat.File {
	var out []chat.File
	for _, a := range s.Artifacts {
		if !a.Gone() {
			out = append(out, a.File)
		}
	}
	return out
}

// FileName names the post of a file that a call made.
func FileName(call string, i int) string { return fmt.Sprintf("file/%s/%d", call, i+1) }
