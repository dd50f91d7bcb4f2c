package tokens

import (
	"container/heap"
	_ "embed" // for the table
	"hash/maphash"
	"sync"
)

// o200kBase is OpenAI's o200k_base (MIT licence), as TestTable writes it: each token
// behind one byte with its length, in the order of their ranks.
//
// The program holds it neither packed nor as Go's maps, so the system reads only the
// needed parts from the file, and none is on the heap.
//
//go:embed o200k_base.bin
var o200kBase string

var o200k = sync.OnceValue(func() *table { return index(o200kBase) })

// table finds the tokens. A rank is a place in the data, which has the same order as the
// published ranks.
type table struct {
	data  string
	seed  maphash.Seed
	slots []uint32 // where a token is, by the hash of it; 0 says nowhere
}

const unknown = ^uint32(0)

// index notes where each token is. It takes some milliseconds.
func index(data string) *table {
	n := 0
	for at := 0; at < len(data); at += 1 + int(data[at]) {
		n++
	}
	size := 1
	for size < n+n/8 {
		size *= 2
	}
	t := &table{data: data, seed: maphash.MakeSeed(), slots: make([]uint32, size)}
	for at := 0; at < len(data); at += 1 + int(data[at]) {
		slot := t.slot(t.token(uint32(at)))
		for t.slots[slot] != 0 {
			slot = (slot + 1) % len(t.slots)
		}
		t.slots[slot] = uint32(at) + 1
	}
	return t
}

func (t *table) token(at uint32) string { return t.data[at+1 : at+1+uint32(t.data[at])] }

func (t *table) slot(s string) int {
	return int(maphash.String(t.seed, s) & uint64(len(t.slots)-1))
}

// rank gives the rank of a token; unknown if there is none.
func (t *table) rank(s string) uint32 {
	for slot := t.slot(s); t.slots[slot] != 0; slot = (slot + 1) % len(t.slots) {
		if at := t.slots[slot] - 1; t.token(at) == s {
			return at
		}
	}
	return unknown
}

// count gives the number of tokens of a text.
func (t *table) count(text string) int {
	n := 0
	for text != "" {
		end := endPiece(text)
		if t.rank(text[:end]) != unknown {
			n++
		} else {
			n += t.merge(text[:end])
		}
		text = text[end:]
	}
	return n
}

// merge is byte pair encoding. Of the bytes of a piece, it joins the two neighbours
// that make the token of the lowest rank, the leftmost first, until no two make a
// token. It returns the number of tokens left.
//
// A piece may be as long as a text without a space, so the lowest pair comes from a
// heap. Outdated pairs stay in it; their rank gives them away.
func (t *table) merge(piece string) int {
	p := parts{table: t, piece: piece, from: make([]part, len(piece)+1)}
	for i := range p.from {
		p.from[i] = part{before: i - 1, next: i + 1, pair: unknown}
	}
	for i := range len(piece) {
		p.findPair(i)
	}
	left := len(piece)
	for len(p.lowest) > 0 {
		best, _ := heap.Pop(&p.lowest).(pair)
		if p.from[best.at].pair != best.rank {
			continue
		}
		gone := p.from[best.at].next
		p.from[gone].pair = unknown
		p.from[best.at].next = p.from[gone].next
		p.from[p.from[gone].next].before = best.at
		left--
		p.findPair(best.at)
		p.findPair(p.from[best.at].before)
	}
	return left
}

// parts is a piece while it is merged: by the byte at which each part begins.
type parts struct {
	*table
	piece  string
	from   []part
	lowest pairs
}

// part knows its neighbours, and the rank of the token that it makes with the next.
type part struct {
	before, next int
	pair         uint32
}

// findPair notes the token that a part makes with the next one.
func (p *parts) findPair(at int) {
	if at < 0 {
		return
	}
	p.from[at].pair = unknown
	next := p.from[at].next
	if next >= len(p.piece) {
		return
	}
	if r := p.rank(p.piece[at:p.from[next].next]); r != unknown {
		p.from[at].pair = r
		heap.Push(&p.lowest, pair{r, at})
	}
}

// pair is a token that two neighbours make.
type pair struct {
	rank uint32
	at   int
}

// pairs is a heap, the lowest rank first, and of equal ones the leftmost.
type pairs []pair

// Len, Less, Swap, Push and Pop implement heap.Interface.
func (p pairs) Len() int { return len(p) }

func (p pairs) Less(i, j int) bool {
	return p[i].rank < p[j].rank || p[i].rank == p[j].rank && p[i].at < p[j].at
}
func (p pairs) Swap(i, j int) { p[i], p[j] = p[j], p[i] }

func (p *pairs) Push(v any) {
	if one, ok := v.(pair); ok {
		*p = append(*p, one)
	}
}

func (p *pairs) Pop() any {
	last := (*p)[len(*p)-1]
	*p = (*p)[:len(*p)-1]
	return last
}
