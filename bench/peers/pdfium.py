"""Text with a box per character run, by pdfium. Prints pages and CPU seconds: `pdfium.py FILE…`."""
import sys
import time

import pypdfium2

pages = 0
begun = time.process_time()
for name in sys.argv[1:]:
    document = pypdfium2.PdfDocument(name)
    for page in document:
        text = page.get_textpage()
        text.get_text_range()
        for index in range(text.count_rects()):
            text.get_rect(index)
        pages += 1
    document.close()
print(pages, time.process_time() - begun)
