package terminal

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"nod/chat"
)

func posted(key, name, blob string) chat.Post {
	return chat.Post{Key: key, File: &chat.File{Name: name, MediaType: "image/png", Size: 3, Blob: blob}}
}

// TestFiles: a file is written once for each post, whole, for its owner only,
// and one that is there is never written over.
func TestFiles(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "new", "files")
	var out buffer
	start1 := func() *Adapter {
		return start(newBot(t, ""), Options{In: strings.NewReader(""), Out: &out, Files: folder})
	}
	post := func(a *Adapter, p chat.Post, look bool) {
		t.Helper()
		if ref, err := a.Post(t.Context(), Thread, p, look); err != nil || ref != postRef(Thread, p.Key) {
			t.Errorf("Post: %v, %v", ref, err)
		}
	}
	a := start1()
	first := posted("file/c1/0", "plot.png", "b-plot")
	post(a, first, false)
	post(a, first, true) // the same process
	path := filepath.Join(folder, "plot-"+first.Mark(Thread)+".png")
	if err := os.WriteFile(path, []byte("edited"), 0o600); err != nil {
		t.Fatal(err)
	}
	again := first
	again.File = &chat.File{Name: "plot.png", MediaType: "image/png", Size: 3, Blob: "b-forgotten"}
	post(start1(), again, true) // a later one
	post(a, posted("file/c1/1", "plot.png", "b-plot"), false)
	entries, err := os.ReadDir(folder)
	if err != nil || len(entries) != 2 {
		t.Fatalf("there are %v, %v", entries, err)
	}
	for _, e := range entries {
		if info, err := e.Info(); err != nil || info.Mode() != 0o600 {
			t.Errorf("%s has mode %v, %v", e.Name(), info.Mode(), err)
		}
	}
	if info, err := os.Stat(folder); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the folder has mode %v, %v", info.Mode(), err)
	}
	if data, err := os.ReadFile(path); err != nil || string(data) != "edited" {
		t.Errorf("the first holds %q, %v", data, err)
	}
	line := "File: " + path + " (image/png, 3 bytes)\n"
	if got := out.String(); strings.Count(got, line) != 2 || strings.Count(got, "\n") != 3 {
		t.Errorf("it says %q", got)
	}
}

// TestNoFile: where no file can be written a line says why.
func TestNoFile(t *testing.T) {
	blocked := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(blocked, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct{ folder, blob, want string }{
		"no folder":  {"", "b-plot", "File: x.png can't be shown: there is no folder for it\n"},
		"never kept": {t.TempDir(), "", "File: x.png can't be shown: it is empty, or not kept any more\n"},
		"gone":       {t.TempDir(), "b-gone", "File: x.png can't be shown: it is empty, or not kept any more\n"},
		"blocked":    {blocked, "b-plot", "File: x.png can't be shown: make the folder: "},
	} {
		var out buffer
		a := start(newBot(t, ""), Options{In: strings.NewReader(""), Out: &out, Files: tt.folder})
		for range 2 {
			if _, err := a.Post(t.Context(), Thread, posted("file/1", "../.x.png", tt.blob), true); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		if got := out.String(); !strings.HasPrefix(got, tt.want) || strings.Count(got, "\n") != 1 {
			t.Errorf("%s: it says %q", name, got)
		}
	}
}

// TestFileLater: a store that does not answer is asked again.
func TestFileLater(t *testing.T) {
	b := newBot(t, "")
	var out buffer
	a := start(b, Options{In: strings.NewReader(""), Out: &out, Files: t.TempDir()})
	b.fail = errors.New("away")
	if _, err := a.Post(t.Context(), Thread, posted("file/1", "x.png", "b-plot"), false); !errors.Is(err, b.fail) || out.String() != "" {
		t.Errorf("Post: %v; it says %q", err, out.String())
	}
}

// TestPastFiles: the next start says where the files of an earlier one are.
func TestPastFiles(t *testing.T) {
	folder := t.TempDir()
	there, gone := posted("file/1", "x.png", "b-plot"), posted("file/2", "y.png", "b-plot")
	if err := os.WriteFile(filepath.Join(folder, "x-"+there.Mark(Thread)+".png"), []byte("PNG"), 0o600); err != nil {
		t.Fatal(err)
	}
	var out buffer
	b := newBot(t, "")
	b.Past[Thread] = []chat.Line{{Ref: postRef(Thread, there.Key), Post: &there}, {Ref: postRef(Thread, gone.Key), Post: &gone}}
	a := start(b, Options{In: strings.NewReader(""), Out: &out, Files: folder})
	if err := a.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	a.left = false
	if _, err := a.Post(t.Context(), Thread, there, true); err != nil {
		t.Error(err)
	}
	want := "File: " + folder + "/x-" + there.Mark(Thread) + ".png (image/png, 3 bytes)\n" +
		"File: y.png can't be shown: it is not there any more\n"
	if got := out.String(); got != want {
		t.Errorf("it says %q, want %q", got, want)
	}
}
