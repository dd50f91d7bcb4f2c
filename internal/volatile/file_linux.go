package volatile

import (
	"context"
	"math/rand/v2"
	"slices"
	"syscall"

	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
)

// file is a file as it is read, as it was flushed, and the writes in between.
type file struct {
	fs.Inode
	disk    *Disk
	mode    uint32
	shared  bool // it is mapped into memory
	written []byte
	flushed []byte
	pending []write
	errors  int // failed flushes
}

// write is a write, or a change of the length.
type write struct {
	at   int64
	data []byte
	cut  bool // the file ends at that place
}

// to applies the write to content.
func (w write) to(b []byte) []byte {
	if end := w.at + int64(len(w.data)); int64(len(b)) < end {
		b = append(b, make([]byte, end-int64(len(b)))...)
	}
	if w.cut {
		return b[:w.at:w.at]
	}
	copy(b[w.at:], w.data)
	return b
}

const sector = 512

// survives gives the content of the file after a power cut.
func (f *file) survives(loss Loss, rng *rand.Rand) []byte {
	b, pending := slices.Clone(f.flushed), f.pending
	switch loss {
	case All:
		pending = nil
	case End:
		pending = pending[:rng.IntN(len(pending)+1)]
	}
	for i, w := range pending {
		torn := loss == Sectors || loss == End && i == len(pending)-1
		switch {
		case !torn:
			b = w.to(b)
		case w.cut:
			if rng.IntN(2) == 0 {
				b = w.to(b)
			}
		default:
			b = w.torn(b, rng)
		}
	}
	return b
}

// torn applies some sectors of the write.
func (w write) torn(b []byte, rng *rand.Rand) []byte {
	for part := range slices.Chunk(w.data, sector) {
		if rng.IntN(2) == 0 {
			b = write{at: w.at, data: part}.to(b)
		}
		w.at += int64(len(part))
	}
	return b
}

func (f *file) write(w write) {
	f.written = w.to(f.written)
	if !f.shared {
		f.pending = append(f.pending, w)
	}
}

func (f *file) attributes(a *fuse.Attr) {
	a.Mode, a.Size, a.Nlink = fuse.S_IFREG|f.mode, uint64(len(f.written)), 1
}

// Getattr implements fs.NodeGetattrer.
func (f *file) Getattr(_ context.Context, _ fs.FileHandle, out *fuse.AttrOut) syscall.Errno {
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	f.attributes(&out.Attr)
	return 0
}

// Setattr implements fs.NodeSetattrer.
func (f *file) Setattr(_ context.Context, _ fs.FileHandle, in *fuse.SetAttrIn, out *fuse.AttrOut) syscall.Errno {
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	if size, ok := in.GetSize(); ok {
		if grow := int64(size) - int64(len(f.written)); grow > 0 {
			f.write(write{at: int64(len(f.written)), data: make([]byte, grow)})
		} else {
			f.write(write{at: int64(size), cut: true})
		}
	}
	if mode, ok := in.GetMode(); ok {
		f.mode = mode & 0o777
	}
	f.attributes(&out.Attr)
	return 0
}

// handle is an open file.
type handle struct {
	*file
	told int // failed flushes that it was told of
}

// Open implements fs.NodeOpener. The kernel keeps pages of a mapped file only, so that
// every other read asks the disk.
func (f *file) Open(context.Context, uint32) (fs.FileHandle, uint32, syscall.Errno) {
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	if f.shared {
		return &handle{f, f.errors}, fuse.FOPEN_KEEP_CACHE, 0
	}
	return &handle{f, f.errors}, fuse.FOPEN_DIRECT_IO, 0
}

// Read implements fs.FileReader.
func (h *handle) Read(_ context.Context, into []byte, at int64) (fuse.ReadResult, syscall.Errno) {
	h.disk.mu.Lock()
	defer h.disk.mu.Unlock()
	if at >= int64(len(h.written)) {
		return fuse.ReadResultData(nil), 0
	}
	return fuse.ReadResultData(into[:copy(into, h.written[at:])]), 0
}

// Write implements fs.FileWriter.
func (h *handle) Write(_ context.Context, data []byte, at int64) (uint32, syscall.Errno) {
	h.disk.mu.Lock()
	defer h.disk.mu.Unlock()
	h.write(write{at: at, data: slices.Clone(data)})
	return uint32(len(data)), 0
}

// Flush implements fs.FileFlusher, which is called at close and flushes nothing.
func (*handle) Flush(context.Context) syscall.Errno { return 0 }

// Fsync implements fs.FileFsyncer.
func (h *handle) Fsync(context.Context, uint32) syscall.Errno {
	d := h.disk
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.fail && len(h.pending) > 0 {
		d.fail, d.failed, h.errors = false, d.failed+1, h.errors+1
		if d.drop {
			h.written = slices.Clone(h.flushed)
		}
	} else {
		for _, w := range h.pending {
			h.flushed = w.to(h.flushed)
		}
	}
	h.pending = nil
	if h.told < h.errors {
		h.told = h.errors
		return syscall.EIO
	}
	return 0
}
