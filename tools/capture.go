package tools

import "fmt"

// capture is a writer that keeps the beginning and the end of what is written,
// in bounded memory, however much it is. It never refuses, so that the program
// that writes does not notice.
type capture struct {
	head, tail         []byte
	headMost, tailMost int
	total              int64
}

func newCapture(head, tail int) *capture { return &capture{headMost: head, tailMost: tail} }

// Write implements io.Writer.
func (c *capture) Write(p []byte) (int, error) {
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

// end is the last of what was written behind head.
func (c *capture) end() []byte { return c.tail[max(len(c.tail)-c.tailMost, 0):] }

// cut says whether something was dropped.
func (c *capture) cut() bool { return c.total > int64(len(c.head)+len(c.end())) }

// bytes is what was kept, without a sign of what was not.
func (c *capture) bytes() []byte { return append(c.head[:len(c.head):len(c.head)], c.end()...) }

// text is what was kept, with a stub where something is left out.
func (c *capture) text() string {
	if !c.cut() {
		return string(c.bytes())
	}
	return fmt.Sprintf("%s\n[… %d bytes are left out here …]\n%s", c.head, c.total-int64(len(c.head)+len(c.end())), c.end())
}
