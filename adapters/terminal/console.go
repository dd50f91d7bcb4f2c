package terminal

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"golang.org/x/term"
)

// Screen says what In and Out are, so that a test can say it too. The zero
// Screen is for pipes and files: plain lines, each written once.
type Screen struct {
	Prompt bool // a person types: prompt, and read on while the bot works
	Live   bool // escapes move the cursor: steps are redrawn in place
	Color  bool

	// Size gives columns and rows of a live screen; it is asked at every
	// drawing, so that nothing needs to hear of a resize.
	Size func() (width, height int)
	// Raw makes a live screen hand over keys as they are pressed, and returns
	// what undoes that. Nil for an In that does so already.
	Raw func() (undo func() error, err error)
}

// Detect finds out what two files are. getenv is os.Getenv: TERM=dumb means
// no escapes at all, NO_COLOR (https://no-color.org) none that colour.
func Detect(in, out *os.File, getenv func(string) string) Screen {
	// A file descriptor is a small int whatever type os gives it.
	inFD, outFD := int(in.Fd()), int(out.Fd())
	tty := term.IsTerminal(outFD)
	escapes := tty && getenv("TERM") != "" && getenv("TERM") != "dumb"
	s := Screen{
		Prompt: tty && term.IsTerminal(inFD),
		Color:  escapes && getenv("NO_COLOR") == "",
	}
	s.Live = s.Prompt && escapes
	s.Size = func() (int, int) {
		w, h, err := term.GetSize(outFD)
		if err != nil || w < 1 || h < 1 {
			return 80, 24
		}
		return w, h
	}
	s.Raw = func() (func() error, error) {
		old, err := term.MakeRaw(inFD)
		if err != nil {
			return nil, err
		}
		return func() error { return term.Restore(inFD, old) }, nil
	}
	return s
}

const (
	promptNew  = "> "
	promptMore = ". "
)

// console writes rows. On a live screen it keeps a region at the bottom, just
// above the line that is being typed, and redraws it in place; all else goes
// above it and stays. The adapter's mutex guards it.
type console struct {
	out    io.Writer
	screen Screen
	editor *term.Terminal // edits the typed line; nil unless live

	region []row // what the region should show
	drawn  []row // what it shows
	held   bool  // Enter is on its way: the region is off the screen

	prompted bool // without an editor: the prompt is on the current line
	more     bool // with one: the prompt is that of a message that goes on
}

// live goes over to redrawing in place, until the returned undo. keys is In.
func (c *console) live(keys io.Reader) (undo func() error, err error) {
	undo = func() error { return nil }
	if c.screen.Raw != nil {
		if undo, err = c.screen.Raw(); err != nil {
			return nil, fmt.Errorf("set up the terminal: %w", err)
		}
	}
	c.editor = term.NewTerminal(struct {
		io.Reader
		io.Writer
	}{keys, c.out}, promptNew)
	c.editor.SetBracketedPasteMode(true)
	c.editor.History = discreet{c.editor.History}
	return undo, nil
}

// close takes region and prompt off the screen and leaves the rest.
func (c *console) close() {
	switch {
	case c.editor != nil:
		c.region = nil
		_ = c.draw(nil) // nobody is left to tell
		c.editor.SetBracketedPasteMode(false)
		_, _ = io.WriteString(c.out, "\r\x1b[J")
		c.editor = nil
	case c.prompted:
		_, _ = io.WriteString(c.out, "\n")
		c.prompted = false
	}
}

// print writes rows that stay.
func (c *console) print(rows []row) error {
	if len(rows) == 0 {
		return nil
	}
	return c.draw(rows)
}

// show makes the region show these rows.
func (c *console) show(rows []row) error {
	c.region = rows
	if c.editor == nil || c.held || slices.Equal(c.region, c.drawn) {
		return nil
	}
	return c.draw(nil)
}

// hold takes the region off the screen before an Enter is handled, so that
// the line that was typed scrolls up as any other does; release puts it back
// beneath that line.
func (c *console) hold() {
	c.held = true
	if len(c.drawn) > 0 {
		_ = c.draw(nil) // a screen that can't be written to shows at the next post
	}
}

func (c *console) release() {
	c.held = false
	_ = c.show(c.region) // as above
}

// draw writes rows above the region, and the region again.
func (c *console) draw(rows []row) error {
	if err := c.write(rows); err != nil {
		return fmt.Errorf("write to the terminal: %w", err)
	}
	return nil
}

func (c *console) write(rows []row) error {
	var b strings.Builder
	if c.editor == nil {
		if c.prompted {
			b.WriteString("\n")
			c.prompted = false
		}
		c.writeRows(&b, rows)
		_, err := io.WriteString(c.out, b.String())
		return err
	}
	width, height := c.screen.Size()
	if err := c.editor.SetSize(width, height); err != nil {
		return err
	}
	if n := len(c.drawn); n > 0 {
		fmt.Fprintf(&b, "\x1b[%dA", n)
	}
	b.WriteString("\r\x1b[J")
	for _, r := range rows {
		c.writeRows(&b, wrap(r, width-1))
	}
	c.drawn = nil
	if !c.held {
		c.drawn = c.region[:min(len(c.region), max(height-2, 0))]
		c.writeRegion(&b, width)
	}
	_, err := c.editor.Write([]byte(b.String()))
	return err
}

func (c *console) writeRows(b *strings.Builder, rows []row) {
	for _, r := range rows {
		b.WriteString(r.paint(c.screen.Color))
		b.WriteString("\n")
	}
}

// writeRegion writes the region. Its rows are cut to the width, and wrapping
// is off while they are written: terminals disagree about the width of some
// characters, and a row that took two lines would not be erased.
func (c *console) writeRegion(b *strings.Builder, width int) {
	if len(c.drawn) == 0 {
		return
	}
	b.WriteString("\x1b[?7l")
	for _, r := range c.drawn {
		b.WriteString(cut(r, width-1).paint(c.screen.Color))
		b.WriteString("\n")
	}
	b.WriteString("\x1b[?7h")
}

// prompt shows where to type; with more, that the message goes on.
func (c *console) prompt(more bool) error {
	p := promptNew
	if more {
		p = promptMore
	}
	switch {
	case c.editor != nil && c.more == more:
		return nil
	case c.editor != nil:
		c.more = more
		c.editor.SetPrompt(p)
		return c.draw(nil)
	case !c.screen.Prompt || c.prompted:
		return nil
	}
	c.prompted = true
	_, err := io.WriteString(c.out, p)
	return err
}
