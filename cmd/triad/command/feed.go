package command

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"iter"

	"triad/shared/queue"
)

// maxLine is the longest line that is kept. It is beyond what a server accepts,
// so that the server says what is too large.
const maxLine = 2 * queue.MaxBody

// item is one submission of the input.
type item struct {
	line int // where it begins, from 1
	body []byte
	// problem says why it can't even be sent; empty when it can.
	problem string
}

// submissions reads JSON values one by one: a JSON array, JSON lines, or one or
// more values written one after another. A line of JSON lines that is broken is
// an item with a problem; in the other forms what is broken ends the input. The
// error is one of reading.
func submissions(r io.Reader) iter.Seq2[item, error] {
	return func(yield func(item, error) bool) {
		f := &feed{in: bufio.NewReaderSize(r, 64<<10), line: 1}
		first, err := f.skipSpace()
		switch {
		case err == io.EOF:
		case err != nil:
			yield(item{}, err)
		case first == '[':
			f.array(yield)
		default:
			f.linesOrValues(yield)
		}
	}
}

type feed struct {
	in   *bufio.Reader
	line int // of the next byte
}

// skipSpace goes to the first byte that is no white space and returns it.
func (f *feed) skipSpace() (byte, error) {
	if mark, _ := f.in.Peek(3); bytes.Equal(mark, []byte("\ufeff")) {
		_, _ = f.in.Discard(3) // they are in the buffer
	}
	for {
		next, err := f.in.ReadByte()
		switch {
		case err != nil:
			return 0, err
		case next == '\n':
			f.line++
		case next != ' ' && next != '\t' && next != '\r':
			return next, f.in.UnreadByte()
		}
	}
}

// readLine reads a line of at most maxLine bytes, without its end; what is
// longer is dropped and told.
func (f *feed) readLine() (line []byte, long bool, err error) {
	for {
		part, err := f.in.ReadSlice('\n')
		if len(line)+len(part) > maxLine {
			long = true
		} else {
			line = append(line, part...)
		}
		switch {
		case err == nil:
			f.line++
			return line, long, nil
		case errors.Is(err, bufio.ErrBufferFull):
		case err == io.EOF && (len(line) > 0 || long):
			return line, long, nil
		default:
			return nil, false, err
		}
	}
}

// linesOrValues looks at the first line: when it is a whole value, or the next
// one begins like it, each line is one.
func (f *feed) linesOrValues(yield func(item, error) bool) {
	start := f.line
	line, long, err := f.readLine()
	if err != nil {
		yield(item{}, err)
		return
	}
	after, _ := f.in.Peek(1)
	if !long && !json.Valid(line) && !bytes.Equal(after, []byte("{")) {
		f.values(io.MultiReader(bytes.NewReader(line), f.in), start, yield)
		return
	}
	for {
		it := item{line: start, body: bytes.TrimSpace(line)}
		switch {
		case long:
			it.problem = "the line is too long for a submission: store large data elsewhere and submit where"
		case !json.Valid(line):
			it.problem = "the line is not JSON: write one submission on each line"
		}
		if (long || len(it.body) > 0) && !yield(it, nil) {
			return
		}
		start = f.line
		if line, long, err = f.readLine(); err != nil {
			if err != io.EOF {
				yield(item{}, err)
			}
			return
		}
	}
}

// array reads the elements of a JSON array.
func (f *feed) array(yield func(item, error) bool) {
	lines := &lineCounter{r: f.in, line: f.line}
	dec := json.NewDecoder(lines)
	_, err := dec.Token() // the bracket
	for err == nil && dec.More() {
		var it item
		if it, err = decodeItem(dec, lines); err == nil && !yield(it, nil) {
			return
		}
	}
	if err == nil {
		if _, err = dec.Token(); err == io.EOF { // the closing bracket
			err = io.ErrUnexpectedEOF
		}
	}
	if err == nil {
		if _, err = dec.Token(); err == nil {
			err = errors.New("something follows the array")
		}
	}
	endFeed(dec, lines, err, yield)
}

// values reads JSON values that follow one another.
func (f *feed) values(r io.Reader, line int, yield func(item, error) bool) {
	lines := &lineCounter{r: r, line: line}
	dec := json.NewDecoder(lines)
	for {
		it, err := decodeItem(dec, lines)
		if err != nil {
			endFeed(dec, lines, err, yield)
			return
		}
		if !yield(it, nil) {
			return
		}
	}
}

func decodeItem(dec *json.Decoder, lines *lineCounter) (item, error) {
	var body json.RawMessage
	if err := dec.Decode(&body); err != nil {
		return item{}, err
	}
	return item{line: lines.at(dec.InputOffset() - int64(len(body))), body: body}, nil
}

// endFeed tells why the values end, unless it is the end of the input.
func endFeed(dec *json.Decoder, lines *lineCounter, err error, yield func(item, error) bool) {
	if err == io.EOF {
		return
	}
	if lines.err != nil {
		yield(item{}, lines.err)
		return
	}
	offset := dec.InputOffset()
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) {
		offset = max(offset, syntax.Offset-1)
	} else if errors.Is(err, io.ErrUnexpectedEOF) {
		offset = lines.offset
	}
	yield(item{line: lines.at(offset), problem: "not JSON from here on: " + err.Error()}, nil)
}

// lineCounter tells the line of an offset. Offsets must be asked for in
// ascending order.
type lineCounter struct {
	r      io.Reader
	err    error // of reading, other than io.EOF
	offset int64 // read so far
	line   int   // of the offset last asked for
	ends   []int64
}

// Read reads on and notes where lines end.
func (c *lineCounter) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	for i, b := range p[:n] {
		if b == '\n' {
			c.ends = append(c.ends, c.offset+int64(i))
		}
	}
	c.offset += int64(n)
	if err != nil && err != io.EOF {
		c.err = err
	}
	return n, err
}

func (c *lineCounter) at(offset int64) int {
	for len(c.ends) > 0 && c.ends[0] < offset {
		c.ends = c.ends[1:]
		c.line++
	}
	return c.line
}
