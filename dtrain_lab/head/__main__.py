from dtrain_lab.head.main import main

if __name__ == "__main__":
    main()
