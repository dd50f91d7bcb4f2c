package tools

import "fmt"

// Capture is a writer that keeps the beginning and the end of a text, in bounded
// memory. It never refuses, so the writing program does not notice.
type Capture struct {
	head, tail         []byte
	headMost, tailMost int
	total              int64
}

// NewCapture makes one that keeps so many bytes of the beginning and of the end.
func NewCapture(head, tail int) *Capture { return &Capture{headMost: head, tailMost: tail} }

// Write implements io.Writer.
func (c *Capture) Write(p []byte) (int, error) {
	n := len(p)
	c.total += int64(n)
	fits := min(c.headMost-len(c.head), n)
	c.head = append(c.head, p[:fits]...)
	p = p[fits:]
	if len(p) > c.tailMost {
		p = p[len(p)-c.tailMost:]
	}
	if len(c.tail)+len(p) > 2*c.tailMost {
		keep := c.tail[len(c.tail)-(c.tailMost-len(p)):]
		c.tail = c.tail[:copy(c.tail, keep)]
	}
	c.tail = append(c.tail, p...)
	return n, nil
}

// end is the end of the text behind head.
func (c *Capture) end() []byte { return c.tail[max(len(c.tail)-c.tailMost, 0):] }

// Size is how much was written.
func (c *Capture) Size() int64 { return c.total }

// Cut says whether something was dropped.
func (c *Capture) Cut() bool { return c.total > int64(len(c.head)+len(c.end())) }

// Bytes is the kept text, without a mark for a gap.
func (c *Capture) Bytes() []byte { return append(c.head[:len(c.head):len(c.head)], c.end()...) }

// Text is the kept text, with a stub for a gap.
func (c *Capture) Text() string {
	if !c.Cut() {
		return string(c.Bytes())
	}
	return fmt.Sprintf("%s\n[… %d bytes are left out here …]\n%s", c.head, c.total-int64(len(c.head)+len(c.end())), c.end())
}
