package terminal

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"nod/chat"
	"nod/chat/summary"
)

// A terminal shows no pictures, so a file that a tool made is written into a
// folder, and a line says where. Its name bears the mark of its post: another
// attempt at the post finds it there, and neither another file of the same name
// nor one of another conversation is ever written over.

// keep writes the file of a post into the folder, unless it is there, and gives
// the rows that say what became of it. It returns an error only where another
// attempt may go better.
func (a *Adapter) keep(ctx context.Context, thread chat.ThreadID, p chat.Post) ([]row, error) {
	f := p.File
	if a.o.Files == "" {
		return fileRows(f, "there is no folder for it"), nil
	}
	name := chat.MarkedName(f.Name, p.Mark(thread))
	path := filepath.Join(a.o.Files, name)
	if _, err := os.Lstat(path); err == nil {
		return keptRows(f, path), nil
	}
	data, err := f.Content(func(blob string) ([]byte, error) { return a.o.Inbox.Blob(ctx, thread, blob) })
	switch {
	case err != nil:
		return nil, err
	case len(data) == 0:
		return fileRows(f, "it is empty, or not kept any more"), nil
	}
	if err := write(a.o.Files, name, data); err != nil {
		return fileRows(f, err.Error()), nil
	}
	return keptRows(f, path), nil
}

// write makes a file in a folder, for its owner only. The file appears whole or
// not at all; one that is there stays as it is.
func write(folder, name string, data []byte) error {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return fmt.Errorf("make the folder: %w", err)
	}
	root, err := os.OpenRoot(folder)
	if err != nil {
		return fmt.Errorf("open the folder: %w", err)
	}
	defer func() { _ = root.Close() }()
	if _, err := root.Lstat(name); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	part := ".part-" + rand.Text()
	err = root.WriteFile(part, data, 0o600)
	if err == nil {
		err = root.Rename(part, name)
	}
	if err != nil {
		_ = root.Remove(part)
		return fmt.Errorf("write the file: %w", err)
	}
	return nil
}

// keptAt gives the rows of a file that an earlier process has written.
func (a *Adapter) keptAt(p *chat.Post) []row {
	path := filepath.Join(a.o.Files, chat.MarkedName(p.File.Name, p.Mark(Thread)))
	if _, err := os.Lstat(path); err != nil || a.o.Files == "" {
		return fileRows(p.File, "it is not there any more")
	}
	return keptRows(p.File, path)
}

// keptRows says where a file is.
func keptRows(f *chat.File, path string) []row {
	note := summary.Count(int(f.Size), "byte")
	if kind := cleanLine(f.MediaType); kind != "" {
		note = kind + ", " + note
	}
	return []row{{"File: " + cleanLine(path) + " (" + note + ")", plain}}
}

// fileRows says why a file is nowhere.
func fileRows(f *chat.File, why string) []row {
	return []row{{"File: " + chat.FileName(f.Name) + " can't be shown: " + cleanLine(why), plain}}
}
