package thread

import (
	"fmt"
	"path"
	"strings"

	"nod/chat"
)

// An artifact is what a person attached or a tool made, beyond a few KB of
// text: it is kept once in the store, named in the prompt by a stub, and read
// on with a tool. Its name is its own in the thread, so that people and the
// model can name it; which name that is follows from the log alone.
type Artifact struct {
	chat.File
	seq     uint64
	From    string // who attached it, or the tool that made it
	Outside bool   // strangers wrote it, as a tool of theirs gave it back
	dropped bool   // taken from what the model sees
	With    *Message
}

// Gone says whether the model does not see it.
func (a *Artifact) Gone() bool { return a.dropped || a.With != nil && a.With.Deleted }

// adopt names files of the log, and lists those whose content was kept.
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

// unique makes a name that no artifact of the thread has: table.csv, and then
// table-2.csv.
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
	for _, a := range s.Artifacts {
		if a.Name == name {
			return a
		}
	}
	return nil
}

// dropArtifact takes an artifact from what the model sees.
func (s *Thread) dropArtifact(name string) {
	if a := s.Artifact(name); a != nil {
		a.dropped = true
	}
}

func (s *Thread) IsDropped(f chat.File) bool {
	a := s.Artifact(f.Name)
	return a != nil && a.Gone()
}

// Held lists what there is for the model to read, the oldest first.
func (s *Thread) Held() []chat.File {
	var out []chat.File
	for _, a := range s.Artifacts {
		if !a.Gone() {
			out = append(out, a.File)
		}
	}
	return out
}

func FileName(call string, i int) string { return fmt.Sprintf("file/%s/%d", call, i+1) }
