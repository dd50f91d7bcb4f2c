// Package document gets the text out of files that strangers made: pages, PDF,
// Word files, workbooks, tables, and plain text in any encoding. It is a room that tools
// share, and no tool.
//
// Parsers are made for honest files, so they run in a process of their own (see
// [Reader]). A program that imports this package is that process, when it is
// started under another name.
package document

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

	"nod/llm/queue"
	"nod/tools"
)

// The kinds of document that a reader reads.
const (
	HTML = "html" // in UTF-8
	PDF  = "pdf"
	DOCX = "docx"
	XLSX = "xlsx"
	CSV  = "csv" // in UTF-8; its text is not given back
)

// Reader gets the text out of documents that come from strangers. The libraries
// that parse them were made for honest files: some loop for ever over a file
// that ends in the middle of a string, or take all the memory that a header
// claims. So each document is read in a process of its own, this program run
// again under another name, that gives up by itself when it takes too long or
// too much memory. It gets nothing of this process but the document.
type Reader struct {
	Time   time.Duration
	Memory uint64       // bytes
	lanes  *queue.Lanes // how many at once, of all threads
	Env    []string     // of the process; absent: nothing
	thread string       // for which it reads
}

// NewReader makes a reader with the usual bounds: two documents at once, each of
// them for 15 seconds and in half a gigabyte. Threads take turns; see [Reader.For].
func NewReader() Reader {
	return Reader{Time: 15 * time.Second, Memory: 512 << 20, lanes: queue.NewLanes(2)}
}

// For is the same reader for a thread, which waits no longer for the many documents
// of another.
func (r Reader) For(thread string) Reader {
	r.thread = thread
	return r
}

// Source describes a document to the process that reads it.
type Source struct {
	Kind   string
	URL    string // of a page, for its links
	Comma  byte   // between the fields of CSV
	Time   time.Duration
	Memory uint64
}

// Content is the content of a document.
type Content struct {
	Title    string    `json:",omitempty"`
	Text     string    `json:",omitempty"` // Markdown or plain, of up to FileCap bytes
	Note     string    `json:",omitempty"` // missing parts
	Wrong    string    `json:",omitempty"` // why it can't be read
	Sections []Section `json:",omitempty"` // its pages or sheets
	Table    Table     `json:",omitzero"`  // of CSV
}

// Section is a piece of a text that has a name: a page, a sheet, a section.
type Section struct {
	Title string
	Level int // it ends where the next one of its level or a lower one begins
	At    int // the byte with which it begins
}

// readerName is the name of the reading process.
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

// Read reads a document. An error is a *[tools.Refusal], in words for the model, or, when
// there could be no process, the operator's business.
func (r Reader) Read(ctx context.Context, s Source, body []byte) (Content, error) {
	if r.lanes.Enter(ctx, r.thread) != nil {
		return Content{}, tools.Refuse("there was no time left to read it; try again later")
	}
	defer r.lanes.Leave()
	s.Time, s.Memory = r.Time, r.Memory
	head, err := json.Marshal(s)
	if err != nil {
		return Content{}, fmt.Errorf("describe document: %w", err)
	}
	program, err := thisProgram()
	if err != nil {
		return Content{}, fmt.Errorf("find own program: %w", err)
	}
	cmd := exec.CommandContext(ctx, program)
	cmd.Args = []string{readerName}
	cmd.Env = append([]string{"LANG=C.UTF-8"}, r.Env...) // with none at all it would get the bot's
	cmd.Dir = "/"
	cmd.WaitDelay = time.Second
	cmd.Stdin = io.MultiReader(bytes.NewReader(append(head, '\n')), bytes.NewReader(body))
	out := tools.NewCapture(8*tools.FileCap, 0) // JSON may need more bytes than the text
	cmd.Stdout = out
	if err := cmd.Run(); err != nil {
		return Content{}, readerError(ctx, err)
	}
	var c Content
	if err := json.Unmarshal(out.Bytes(), &c); err != nil {
		return Content{}, fmt.Errorf("read document reader's answer: %w", err)
	}
	if c.Wrong != "" {
		return Content{}, tools.Refuse("%s", c.Wrong)
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
		return tools.Refuse("reading it took too long")
	}
	if !errors.As(err, &exit) {
		return fmt.Errorf("start document reader: %w", err)
	}
	switch exit.ExitCode() {
	case exitMemory:
		return tools.Refuse("reading it would take too much memory")
	case exitTime:
		return tools.Refuse("reading it took too long")
	case exitUnusable:
		return fmt.Errorf("run document reader: %w", err)
	}
	return tools.Refuse("it is broken in a way that stops its reader")
}

// readDocument is the whole life of the process that reads.
func readDocument(in io.Reader, out io.Writer) int {
	all, err := io.ReadAll(in)
	if err != nil {
		return exitUnusable
	}
	head, body, _ := bytes.Cut(all, []byte("\n"))
	var s Source
	if err := json.Unmarshal(head, &s); err != nil {
		return exitUnusable
	}
	watch(s)
	c := contentOf(s, body)
	if len(c.Text) > tools.FileCap {
		c.Text = c.Text[:tools.CutBefore(c.Text, tools.FileCap)]
		c.Note = "Only the beginning of its text was kept."
	}
	c.Sections = slices.DeleteFunc(c.Sections, func(s Section) bool { return s.At >= len(c.Text) })
	if err := json.NewEncoder(out).Encode(c); err != nil {
		return exitUnusable
	}
	return 0
}

// watch ends the process when it has had its time or its memory. Nothing else
// could: a parser that loops listens to nobody.
func watch(s Source) {
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
func contentOf(s Source, body []byte) (c Content) {
	defer func() {
		if recover() != nil {
			c = Content{Wrong: "it is damaged"}
		}
	}()
	var err error
	switch s.Kind {
	case HTML:
		c, err = readHTML(s.URL, body)
	case PDF:
		c, err = readPDF(body)
	case DOCX:
		c, err = readDOCX(body)
	case XLSX:
		c, err = readXLSX(body)
	case CSV:
		c.Table = scanTable(string(body), s.Comma)
	default:
		err = errors.New("nobody reads files of this kind")
	}
	if err != nil {
		return Content{Wrong: err.Error()}
	}
	return c
}
