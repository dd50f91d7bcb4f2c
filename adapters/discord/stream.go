package discord

import (
	"compress/zlib"
	"encoding/json"
	"errors"
	"io"
)

// A bot in very many guilds is told of all of them at the beginning, which is most
// of what it is ever sent. The Gateway compresses that to an eighth, for a tenth of
// the time that reading it takes anyway.

// compressFrom is with how many shards events come compressed: Discord gives a bot
// more than one from some thousand guilds on.
const compressFrom = 2

// mostInflated is the longest frame, in bytes, once it is what it was.
const mostInflated = 2 * mostFrame

var errInflated = errors.New("a frame of the gateway is too long")

// frameSource is a connection, as far as it is read.
type frameSource interface {
	NextReader() (kind int, frame io.Reader, err error)
}

// stream reads the frames of a connection whose events are one compressed stream
// (https://discord.com/developers/docs/events/gateway#transport-compression).
type stream struct {
	ws     frameSource
	frame  io.Reader // the one being read; nil between two
	plain  io.Reader // what they hold
	frames *json.Decoder
	most   int // bytes that a frame may have
	left   int // bytes that the next frame may still have
}

// next gives what the next frame says.
func (s *stream) next() (json.RawMessage, error) {
	s.left = s.most
	if s.frames == nil {
		plain, err := zlib.NewReader(compressed{s})
		if err != nil {
			return nil, err
		}
		s.plain, s.frames = plain, json.NewDecoder(inflated{s})
	}
	var raw json.RawMessage
	err := s.frames.Decode(&raw)
	return raw, err
}

// compressed are the bytes of all frames, one after the other.
type compressed struct{ *stream }

// Read implements io.Reader.
func (c compressed) Read(b []byte) (int, error) {
	for {
		if c.frame == nil {
			_, frame, err := c.ws.NextReader()
			if err != nil {
				return 0, err
			}
			c.frame = frame
		}
		n, err := c.frame.Read(b)
		if errors.Is(err, io.EOF) {
			c.frame, err = nil, nil
		}
		if n > 0 || err != nil {
			return n, err
		}
	}
}

// inflated is what they hold, as much of it as a frame may have.
type inflated struct{ *stream }

// Read implements io.Reader.
func (i inflated) Read(b []byte) (int, error) {
	n, err := i.plain.Read(b)
	if i.left -= n; i.left < 0 {
		return 0, errInflated
	}
	return n, err
}
