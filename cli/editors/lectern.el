;;; lectern.el --- Ask and search manuals with Lectern  -*- lexical-binding: t -*-

;; Package-Requires: ((emacs "27.1"))

;;; Commentary:

;; M-x lectern-ask answers a question with citations, M-x lectern-search finds sections.  In what they show
;; RET opens the file at the place at point, r reads its section, n and p go to the next place and back.

;;; Code:

(require 'json)

(defgroup lectern nil "Manuals that can be asked." :group 'help :prefix "lectern-")
(defcustom lectern-program "lectern" "The program." :type 'string)
(defcustom lectern-options nil "Options of asking and searching, as (\"-c\" \"octave\")." :type '(repeat string))

(defun lectern--run (&rest words)
  "What the program prints with WORDS."
  (with-temp-buffer
    (let ((coding-system-for-read 'utf-8) (coding-system-for-write 'utf-8))
      (apply #'call-process lectern-program nil '(t nil) nil words))
    (buffer-string)))

(defun lectern--call (verb &rest words)
  "The object that VERB with WORDS answers with; its error is an error here."
  (let ((said (apply #'lectern--run verb "--json" "--quiet" words)))
    (unless (string-match-p "\\`[[:space:]]*{" said)
      (user-error "Lectern does not answer (lectern-program)"))
    (let* ((value (json-parse-string said :object-type 'alist :array-type 'list :null-object nil :false-object nil))
           (problem (alist-get 'error value)))
      (when problem
        (user-error "Lectern: %s" (alist-get 'message problem)))
      value)))

(defvar lectern-mode-map
  (let ((map (make-sparse-keymap)))
    (define-key map (kbd "RET") #'lectern-open)
    (define-key map "r" #'lectern-read)
    (define-key map "n" #'lectern-next)
    (define-key map "p" #'lectern-previous)
    map))

(define-derived-mode lectern-mode special-mode "Lectern"
  "What Lectern has found."
  (visual-line-mode))

(defun lectern--show (insert)
  "A buffer with what the function INSERT puts into it."
  (pop-to-buffer "*lectern*")
  (let ((inhibit-read-only t))
    (erase-buffer)
    (lectern-mode)
    (funcall insert)
    (goto-char (point-min))))

(defun lectern--name (place)
  "The line that names PLACE, which it holds for the commands."
  (let ((anchor (alist-get 'anchor place)))
    (propertize (concat (alist-get 'manual place) ": " (mapconcat #'identity (alist-get 'path place) " › ")
                        "  " (alist-get 'file place) (and anchor (concat "#" anchor)))
                'lectern-place place 'face 'link)))

;;;###autoload
(defun lectern-ask (question)
  "Answer QUESTION from the manuals."
  (interactive "sAsk: ")
  (let ((answer (apply #'lectern--call "ask" (append lectern-options (list "--" question)))))
    (lectern--show
     (lambda ()
       (insert (if (equal (alist-get 'kind answer) "none") "Nothing in the manuals answers this."
                 (concat (and (eq (alist-get 'doubtful answer) t) "The manuals may not answer this.\n\n")
                         (alist-get 'answer answer)))
               "\n\n")
       (dolist (citation (alist-get 'citations answer))
         (insert (format "[%d] " (alist-get 'n citation)) (lectern--name citation) "\n"))))))

;;;###autoload
(defun lectern-search (words)
  "Find sections with WORDS."
  (interactive "sSearch: ")
  (let ((found (apply #'lectern--call "search" (append lectern-options (list "--" words)))))
    (lectern--show
     (lambda ()
       (unless (alist-get 'results found)
         (insert "Nothing is found.\n"))
       (dolist (hit (alist-get 'results found))
         (insert (lectern--name hit) "\n    "
                 (truncate-string-to-width (replace-regexp-in-string "[[:space:]]+" " " (alist-get 'text hit)) 200)
                 "\n\n"))))))

(defun lectern--at (position)
  "The place that the text at POSITION names."
  (get-text-property (max position (point-min)) 'lectern-place))

(defun lectern--place ()
  "The place that the line names, or the last one before it."
  (or (lectern--at (1- (line-end-position)))
      (let ((end (previous-single-property-change (line-beginning-position) 'lectern-place)))
        (and end (lectern--at (1- end))))
      (user-error "There is no place here")))

(defun lectern-next ()
  "Go to the next place."
  (interactive)
  (let ((start (next-single-property-change (line-end-position) 'lectern-place)))
    (when start (goto-char start))))

(defun lectern-previous ()
  "Go to the previous place."
  (interactive)
  (let ((end (previous-single-property-change (line-beginning-position) 'lectern-place)))
    (when end (goto-char (1- end)) (beginning-of-line))))

(defun lectern-open ()
  "Open the file at the place at point: its very byte, or the section's line."
  (interactive)
  (let* ((place (lectern--place))
         (where (lectern--call "open" "--print" (alist-get 'node place)))
         (span (alist-get 'span place))
         ;; Of a section that includes others' files the place may be in one of these.
         (cited (expand-file-name (or (alist-get 'file place) "") (alist-get 'root where)))
         (elsewhere (and (not (equal cited (alist-get 'file where))) (file-regular-p cited))))
    (find-file-other-window (if elsewhere cited (alist-get 'file where)))
    (goto-char (point-min))
    (forward-line (if elsewhere 0 (1- (alist-get 'line where))))
    (when span
      (goto-char (or (filepos-to-bufferpos (car span) 'exact) (point))))))

(defun lectern-read ()
  "Read the section of the place at point."
  (interactive)
  (let* ((place (lectern--place))
         (text (lectern--run "get" (alist-get 'node place))))
    (lectern--show (lambda () (insert (lectern--name place) "\n\n" text)))))

(provide 'lectern)
;;; lectern.el ends here
