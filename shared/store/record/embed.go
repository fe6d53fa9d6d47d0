package record

import "unicode/utf8"

// maxDepth is how deeply an embedded output may be nested; a deeper one is kept
// in base64.
const maxDepth = 32

// embeddable reports whether b can stand inside a record as it is and be read
// back to the byte: one valid JSON value in valid UTF-8 without space around
// it. It is stricter than json.Valid, never looser, and several times faster.
func embeddable(b []byte) bool {
	end, ok := value(b, 0, 0)
	return ok && end == len(b) && utf8.Valid(b)
}

// value scans the JSON value at b[i:], which does not start with space, and
// returns where it ends.
func value(b []byte, i, depth int) (int, bool) {
	if i >= len(b) || depth > maxDepth {
		return i, false
	}
	switch c := b[i]; {
	case c == '"':
		return text(b, i+1)
	case c == '{':
		return members(b, i+1, depth+1)
	case c == '[':
		return elements(b, i+1, depth+1)
	case c == '-' || digit(c):
		return number(b, i)
	}
	for _, word := range []string{"true", "false", "null"} {
		if end := i + len(word); end <= len(b) && string(b[i:end]) == word {
			return end, true
		}
	}
	return i, false
}

// members scans an object after its opening brace.
func members(b []byte, i, depth int) (int, bool) {
	if i = space(b, i); at(b, i) == '}' {
		return i + 1, true
	}
	for {
		if i = space(b, i); at(b, i) != '"' {
			return i, false
		}
		var ok bool
		if i, ok = text(b, i+1); !ok {
			return i, false
		}
		if i = space(b, i); at(b, i) != ':' {
			return i, false
		}
		if i, ok = value(b, space(b, i+1), depth); !ok {
			return i, false
		}
		switch i = space(b, i); at(b, i) {
		case '}':
			return i + 1, true
		case ',':
			i++
		default:
			return i, false
		}
	}
}

// elements scans an array after its opening bracket.
func elements(b []byte, i, depth int) (int, bool) {
	if i = space(b, i); at(b, i) == ']' {
		return i + 1, true
	}
	for {
		var ok bool
		if i, ok = value(b, space(b, i), depth); !ok {
			return i, false
		}
		switch i = space(b, i); at(b, i) {
		case ']':
			return i + 1, true
		case ',':
			i++
		default:
			return i, false
		}
	}
}

// text scans a string after its opening quote.
func text(b []byte, i int) (int, bool) {
	for ; i < len(b); i++ {
		switch c := b[i]; {
		case c == '"':
			return i + 1, true
		case c < ' ':
			return i, false
		case c == '\\':
			i++
			switch at(b, i) {
			case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
			case 'u':
				for range 4 {
					if i++; !hexDigit(at(b, i)) {
						return i, false
					}
				}
			default:
				return i, false
			}
		}
	}
	return i, false
}

func number(b []byte, i int) (int, bool) {
	if b[i] == '-' {
		i++
	}
	switch c := at(b, i); {
	case c == '0':
		i++
	case digit(c):
		i = digits(b, i)
	default:
		return i, false
	}
	if at(b, i) == '.' {
		if i++; !digit(at(b, i)) {
			return i, false
		}
		i = digits(b, i)
	}
	if c := at(b, i); c == 'e' || c == 'E' {
		if i++; at(b, i) == '+' || at(b, i) == '-' {
			i++
		}
		if !digit(at(b, i)) {
			return i, false
		}
		i = digits(b, i)
	}
	return i, true
}

// at returns b[i], or 0, which is nowhere valid, past the end.
func at(b []byte, i int) byte {
	if i < len(b) {
		return b[i]
	}
	return 0
}

func space(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\t' || b[i] == '\n' || b[i] == '\r') {
		i++
	}
	return i
}

func digits(b []byte, i int) int {
	for i < len(b) && digit(b[i]) {
		i++
	}
	return i
}

func digit(c byte) bool { return c >= '0' && c <= '9' }

func hexDigit(c byte) bool { return digit(c) || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F' }
