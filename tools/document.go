package tools

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime/metrics"
	"slices"
	"time"
)

// The kinds of document that a reader reads.
const (
	kindHTML = "html" // in UTF-8
	kindPDF  = "pdf"
	kindDOCX = "docx"
	kindXLSX = "xlsx"
)

// reader gets the text out of documents that come from strangers. The libraries
// that parse them were made for honest files: some loop for ever over a file
// that ends in the middle of a string, or take all the memory that a header
// claims. So each document is read in a process of its own, this program run
// again under another name, that gives up by itself when it takes too long or
// too much memory. It gets nothing of this process but the document.
type reader struct {
	time   time.Duration
	memory uint64        // bytes
	slots  chan struct{} // how many at once
	env    []string      // of the process; absent: nothing
}

func newReader() reader {
	return reader{time: 15 * time.Second, memory: 512 << 20, slots: make(chan struct{}, 2)}
}

// source describes a document to the process that reads it.
type source struct {
	Kind   string
	URL    string // of a page, for its links
	Time   time.Duration
	Memory uint64
}

// content is what a document holds.
type content struct {
	Title    string    `json:",omitempty"`
	Text     string    `json:",omitempty"` // Markdown or plain, of up to FileCap bytes
	Note     string    `json:",omitempty"` // what is missing
	Wrong    string    `json:",omitempty"` // why it can't be read
	Sections []section `json:",omitempty"` // its pages or sheets
}

// section is a piece of a text that has a name: a page, a sheet, a section.
type section struct {
	Title string
	Level int // it ends where the next one of its level or a lower one begins
	At    int // the byte with which it begins
}

// readerName is what the process that reads is called.
const readerName = "nod-document-reader"

// The ends of that process, other than 0 and those of Go itself (2).
const (
	exitUnusable = 10
	exitMemory   = 11
	exitTime     = 12
)

// init turns the process into the one that reads, when it was started as that.
// It must not reach main, which would read flags and open stores.
func init() {
	if len(os.Args) == 1 && os.Args[0] == readerName {
		os.Exit(readDocument(os.Stdin, os.Stdout))
	}
}

// read reads a document. An error is a *refusal, in words for the model, or, when
// there could be no process, the operator's business.
func (r reader) read(ctx context.Context, s source, body []byte) (content, error) {
	select {
	case r.slots <- struct{}{}:
		defer func() { <-r.slots }()
	case <-ctx.Done():
		return content{}, refuse("there was no time left to read it; try again later")
	}
	s.Time, s.Memory = r.time, r.memory
	head, err := json.Marshal(s)
	if err != nil {
		return content{}, fmt.Errorf("describe document: %w", err)
	}
	program, err := thisProgram()
	if err != nil {
		return content{}, fmt.Errorf("find own program: %w", err)
	}
	cmd := exec.CommandContext(ctx, program)
	cmd.Args = []string{readerName}
	cmd.Env = append([]string{"LANG=C.UTF-8"}, r.env...) // with none at all it would get the bot's
	cmd.Dir = "/"
	cmd.WaitDelay = time.Second
	cmd.Stdin = io.MultiReader(bytes.NewReader(append(head, '\n')), bytes.NewReader(body))
	out := newCapture(8*FileCap, 0) // JSON may need more bytes than the text
	cmd.Stdout = out
	if err := cmd.Run(); err != nil {
		return content{}, readerError(ctx, err)
	}
	var c content
	if err := json.Unmarshal(out.bytes(), &c); err != nil {
		return content{}, fmt.Errorf("read document reader's answer: %w", err)
	}
	if c.Wrong != "" {
		return content{}, refuse("%s", c.Wrong)
	}
	return c, nil
}

// thisProgram is the file of the running program, also when another one has
// taken its place on disk.
func thisProgram() (string, error) {
	const self = "/proc/self/exe"
	if _, err := os.Stat(self); err == nil {
		return self, nil
	}
	return os.Executable()
}

func readerError(ctx context.Context, err error) error {
	var exit *exec.ExitError
	if ctx.Err() != nil {
		return refuse("reading it took too long")
	}
	if !errors.As(err, &exit) {
		return fmt.Errorf("start document reader: %w", err)
	}
	switch exit.ExitCode() {
	case exitMemory:
		return refuse("reading it would take too much memory")
	case exitTime:
		return refuse("reading it took too long")
	case exitUnusable:
		return fmt.Errorf("run document reader: %w", err)
	}
	return refuse("it is broken in a way that stops its reader")
}

// readDocument is the whole life of the process that reads.
func readDocument(in io.Reader, out io.Writer) int {
	all, err := io.ReadAll(in)
	if err != nil {
		return exitUnusable
	}
	head, body, _ := bytes.Cut(all, []byte("\n"))
	var s source
	if err := json.Unmarshal(head, &s); err != nil {
		return exitUnusable
	}
	watch(s)
	c := contentOf(s, body)
	if len(c.Text) > FileCap {
		c.Text = c.Text[:cutBefore(c.Text, FileCap)]
		c.Note = "Only the beginning of its text was kept."
	}
	c.Sections = slices.DeleteFunc(c.Sections, func(s section) bool { return s.At >= len(c.Text) })
	if err := json.NewEncoder(out).Encode(c); err != nil {
		return exitUnusable
	}
	return 0
}

// watch ends the process when it has had its time or its memory. Nothing else
// could: a parser that loops listens to nobody.
func watch(s source) {
	time.AfterFunc(s.Time, func() { os.Exit(exitTime) })
	go func() {
		sample := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
		for range time.Tick(10 * time.Millisecond) {
			metrics.Read(sample)
			if sample[0].Value.Uint64()-sample[1].Value.Uint64() > s.Memory {
				os.Exit(exitMemory)
			}
		}
	}()
}

// contentOf reads a document. A parser that panics was given a broken one.
func contentOf(s source, body []byte) (c content) {
	defer func() {
		if recover() != nil {
			c = content{Wrong: "it is damaged"}
		}
	}()
	var err error
	switch s.Kind {
	case kindHTML:
		c, err = readHTML(s.URL, body)
	case kindPDF:
		c, err = readPDF(body)
	case kindDOCX:
		c, err = readDOCX(body)
	case kindXLSX:
		c, err = readXLSX(body)
	default:
		err = errors.New("nobody reads files of this kind")
	}
	if err != nil {
		return content{Wrong: err.Error()}
	}
	return c
}
