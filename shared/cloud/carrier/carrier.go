// Package carrier carries the calls of the SDK to AWS so that their answers arrive
// whole.
//
// The SDK closes the body of a request as soon as the answer begins, and from then
// on says io.EOF, as an error, to whoever copies the body to a writer (smithy-go
// 1.28.8, transport/http/internal/io: safeWriteToReadCloser). net/http copies it
// once more after the last byte, to see that nothing follows (transfer.go,
// writeBody). Where the answer is faster than that look, which takes a busy
// processor and a near server, net/http takes the error for a failed request and
// closes the connection below the answer. The SDK then calls again, although the
// call was done: messages are sent twice, or lie invisible until their timeout.
// Everything in Triad bears that, since any answer may be lost; none needs to.
package carrier

import (
	"io"
	"net/http"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
)

// Whole returns a client that makes its calls by c, or by the SDK's own when c is
// nil, and does not lose an answer that is faster than its request. It is safe for
// concurrent use when c is.
func Whole(c aws.HTTPClient) aws.HTTPClient {
	if c == nil {
		c = awshttp.NewBuildableClient()
	}
	return whole{c}
}

type whole struct{ aws.HTTPClient }

// Do sends the request with a body that can only be read: read after it was
// closed, it just ends.
func (w whole) Do(r *http.Request) (*http.Response, error) {
	if r.Body != nil && r.Body != http.NoBody {
		r = r.WithContext(r.Context()) // a copy: the caller's keeps its body
		r.Body = struct{ io.ReadCloser }{r.Body}
	}
	return w.HTTPClient.Do(r)
}
